/* What a Cortex-M reads when it starts: where its stack begins, and its first instruction. */
	.syntax unified
	.section .vectors, "a"
	.global vectors
vectors:
	.word 0x20100000
	.word _start + 1
	.rept 14
	.word halt + 1
	.endr

	.text
	.thumb
	.thumb_func
halt:
	b halt
