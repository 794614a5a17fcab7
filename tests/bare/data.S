/* The models, in read-only memory. */
	.section .rodata
	.global model_gguf, model_gguf_end, trees_txt, trees_txt_end
	.balign 32
model_gguf:
	.incbin "model.gguf"
model_gguf_end:
	.balign 4
trees_txt:
	.incbin "trees.txt"
trees_txt_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits
