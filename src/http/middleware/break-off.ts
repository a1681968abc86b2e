import type { ServerResponse } from 'node:http'

/** Ends an answer that has begun, so that no client takes the part for the whole. Without chunks only a reset shows that. */
export function breakOff({ socket, chunkedEncoding }: ServerResponse): void {
  if (chunkedEncoding) socket?.destroy()
  else socket?.resetAndDestroy()
}
