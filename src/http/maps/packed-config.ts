import { errors } from '../../errors.ts'
import { unpackLzma } from './lzma.ts'

/**
 * The config in the parameter `lzma`, to which carto.js turns if the address would be too long: `{"config":"..."}` as LZMA, each
 * byte plus 128, in base64. Throws on anything else.
 */
export function packedConfig(packed: string | undefined): string | undefined {
  if (packed === undefined) return undefined
  if (packed.length <= maxCharacters) {
    const config = unpacked(Buffer.from(packed, 'base64').map((byte) => byte ^ 0x80))
    if (typeof config === 'string') return config
  }
  throw errors.mapInvalid(
    `The parameter lzma is no packed config of up to ${maxCharacters} characters, ${maxBytes} bytes unpacked: send the config as the body of a POST`,
  )
}

/** carto.js packs up to 2,033. To unpack more would block the event loop for too long. */
const maxCharacters = 8_192
const maxBytes = 32 * 1024

function unpacked(bytes: Uint8Array): unknown {
  try {
    return (JSON.parse(textOf(unpackLzma(bytes, maxBytes))) as { config: unknown }).config
  } catch {
    return undefined
  }
}

/** The packer writes a rare character as its two halves, which is no UTF-8: as in JSON, they become `\\ud83d\\ude00`. */
function textOf(bytes: Uint8Array): string {
  const escaped = Buffer.from(bytes)
    .toString('latin1')
    .replace(/\xed([\xa0-\xbf])([\x80-\xbf])/g, (_half, one: string, other: string) => {
      const code = 0xd000 | ((one.charCodeAt(0) & 0x3f) << 6) | (other.charCodeAt(0) & 0x3f)
      return `\\u${code.toString(16)}`
    })
  return Buffer.from(escaped, 'latin1').toString('utf8')
}
