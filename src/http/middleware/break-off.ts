import type { ServerResponse } from 'node:http'

/**
 * Breaks off a started answer, so that no client takes the part for the whole. Without chunked encoding only a reset
 * shows it.
 */
export function breakOff({ socket, chunkedEncoding }: ServerResponse): void {
  if (chunkedEncoding) socket?.destroy()
  else socket?.resetAndDestroy()
}
