/** A statement in the fragment of an address, which no browser sends: `#s=…`, packed. */

export async function packStatement(text: string): Promise<string> {
  const bytes = await through(new Blob([text]), new CompressionStream('deflate-raw'))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** Undefined if there is none, or if it was damaged on the way. */
export async function unpackStatement(fragment: string): Promise<string | undefined> {
  const packed = /^#s=([\w-]+)$/.exec(fragment)?.[1]
  if (!packed) return undefined
  try {
    const characters = atob(packed.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(characters, (character) => character.charCodeAt(0))
    return new TextDecoder().decode(await through(new Blob([bytes]), new DecompressionStream('deflate-raw')))
  } catch {
    return undefined
  }
}

async function through(blob: Blob, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer())
}
