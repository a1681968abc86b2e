/** What a picture's first bytes say about it. Without a size its pixels are unknown. */
export type ImageFacts = Readonly<{ kind: ImageKind; width?: number; height?: number }>
export type ImageKind = 'png' | 'jpeg' | 'gif' | 'webp'

/** The bytes of a cell, and which picture they are. */
export type CellBytes = Readonly<{ bytes: Blob; image: ImageFacts | null }>

/** Reads bytea (`\x…`) or a data: URL. Null for any other text. */
export function readBytes(text: string): CellBytes | null {
  const bytes = text.startsWith('\\x') ? fromHex(text) : fromDataUrl(text)
  if (!bytes) return null
  const image = readImage(bytes) ?? null
  return { bytes: new Blob([bytes], { type: image ? `image/${image.kind}` : '' }), image }
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array((text.length - 2) / 2)
  for (let at = 0; at < bytes.length; at++)
    bytes[at] = digit(text.charCodeAt(at * 2 + 2)) * 16 + digit(text.charCodeAt(at * 2 + 3))
  return bytes
}

/** The value of a letter of either case, or of 0 to 9. */
const digit = (code: number) => (code < 58 ? code - 48 : (code | 32) - 87)

function fromDataUrl(text: string): Uint8Array<ArrayBuffer> | undefined {
  const head = /^data:[^,]{0,200};base64,/i.exec(text)?.[0]
  if (!head) return undefined
  try {
    return Uint8Array.from(atob(text.slice(head.length)), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** By its first bytes, whatever its name or type. */
export function readImage(bytes: Uint8Array<ArrayBuffer>): ImageFacts | undefined {
  const kind = kinds.find(([, begin]) => begin.test(firstHex(bytes)))?.[0]
  if (!kind) return undefined
  try {
    const [width, height] = sizes[kind](new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    return { kind, width, height }
  } catch {
    return { kind }
  }
}

const firstHex = (bytes: Uint8Array) =>
  Array.from(bytes.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('')

const kinds: readonly (readonly [ImageKind, RegExp])[] = [
  ['png', /^89504e470d0a1a0a/],
  ['jpeg', /^ffd8ff/],
  ['gif', /^474946383[79]61/],
  ['webp', /^52494646.{8}57454250/],
]

/** Width and height. Throws if the bytes end before. */
const sizes: Readonly<Record<ImageKind, (view: DataView) => readonly [number, number]>> = {
  png: (view) => [view.getUint32(16), view.getUint32(20)],
  gif: (view) => [view.getUint16(6, true), view.getUint16(8, true)],
  jpeg: jpegSize,
  webp: webpSize,
}

/** In the first frame header; the segments before it are skipped. */
function jpegSize(view: DataView): readonly [number, number] {
  let at = 2
  for (;;) {
    const marker = view.getUint16(at)
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker)
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)]
    if (marker < 0xff00) throw new Error('no marker')
    // A marker may have more than one 0xff before it.
    at += marker === 0xffff ? 1 : 2 + view.getUint16(at + 2)
  }
}

function webpSize(view: DataView): readonly [number, number] {
  const kind = String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + 12, 4))
  if (kind === 'VP8 ') return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff]
  if (kind === 'VP8X')
    return [(view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1]
  const bits = view.getUint32(21, true)
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1]
}
