/** `crypto.randomUUID` is there only over HTTPS; this is everywhere. */
export const randomId = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
