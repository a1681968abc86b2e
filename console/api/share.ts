/**
 * A statement, compressed, in the fragment of a URL: `#s=…`. Browsers do not send fragments. `&as=…` names a key to run
 * it with.
 */

/** In bytes of text. A link that unpacks to more could block the page. */
export const longestShared = 1_000_000

export const isTooLongToShare = (text: string) => new Blob([text]).size > longestShared

export async function packStatement(text: string): Promise<string> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'))
  let characters = ''
  for (const byte of await bytesOf(packed)) characters += String.fromCharCode(byte)
  return btoa(characters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Undefined if there is none, or if it is damaged or too long. */
export async function unpackStatement(fragment: string): Promise<string | undefined> {
  const packed = /^#s=([\w-]+)(&as=[^&]*)?$/.exec(fragment)?.[1]
  if (!packed) return undefined
  try {
    const characters = atob(packed.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(characters, (character) => character.charCodeAt(0))
    const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
    return new TextDecoder().decode(await bytesOf(text.pipeThrough(atMost(longestShared))))
  } catch {
    return undefined
  }
}

/** A statement for the form of a new schedule, with the values of `$1`, `$2`, … */
export type WantedSchedule = Readonly<{ query: string; params?: readonly unknown[] | undefined }>

export const packSchedule = (wanted: WantedSchedule) => packStatement(JSON.stringify(wanted))

export async function unpackSchedule(fragment: string): Promise<WantedSchedule | undefined> {
  const text = await unpackStatement(fragment)
  try {
    const wanted = JSON.parse(text ?? 'null') as Partial<WantedSchedule> | null
    const isStatement = typeof wanted?.query === 'string'
    if (!isStatement || !(wanted.params === undefined || Array.isArray(wanted.params))) return undefined
    return { query: wanted.query!, params: wanted.params }
  } catch {
    return undefined
  }
}

async function bytesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** Fails after more than `most` bytes. */
function atMost(most: number): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let length = 0
  return new TransformStream({
    transform: (chunk, controller) => {
      length += chunk.length
      if (length > most) throw new RangeError('too long')
      controller.enqueue(chunk)
    },
  })
}
