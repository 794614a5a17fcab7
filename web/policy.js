// policy: narrows where the page and its worker may connect: this server, and that of the address
// behind "#", which the user gave. A policy can only be narrowed, so another address loads the page
// again. The part behind "#" is not sent to any server.
const address = (() => {
  try {
    const url = new URL(decodeURIComponent(location.hash.slice(1)));
    // Hosts may have ";" in them, which ends a directive.
    return /^https?:\/\/[a-z0-9.:[\]-]+$/.test(url.origin) ? url : null;
  } catch {
    return null;
  }
})();

// These hosts answer by sending the browser to another one.
const MOVES = { 'huggingface.co': ' https://*.hf.co https://*.huggingface.co' };

const policy = document.createElement('meta');
policy.httpEquiv = 'Content-Security-Policy';
policy.content = `connect-src 'self' ${address ? address.origin + (MOVES[address.hostname] ?? '') : ''}`;
document.head.append(policy);
globalThis.given = { address };
