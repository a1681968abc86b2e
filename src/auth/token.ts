import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** A new secret: a prefix, 256 random bits, and a checksum, so that secret scanners recognise it. */
export function newToken(): string {
  const random = randomBytes(32).toString('base64url')
  return `${tokenPrefix}${random}${checksum(random)}`
}

export const tokenPrefix = 'cartage_'

/** Has our prefix but a wrong checksum: part of the token is missing or wrong. */
export function isDamaged(token: string): boolean {
  if (!token.startsWith(tokenPrefix)) return false
  const random = token.slice(tokenPrefix.length, -8)
  return token.slice(-8) !== checksum(random)
}

function checksum(random: string): string {
  return crc32(random).toString(16).padStart(8, '0')
}
