import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'

/** Encrypts with a passphrase. The result is salt, nonce, tag and ciphertext (scrypt, AES-256-GCM). */
export function sealWithPassphrase(passphrase: string, text: string): Buffer {
  const [salt, nonce] = [randomBytes(16), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', keyOf(passphrase, salt), nonce)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([salt, nonce, cipher.getAuthTag(), body])
}

/** Undefined if the passphrase is wrong or the data are damaged. */
export function openWithPassphrase(passphrase: string, sealed: Buffer): string | undefined {
  const key = keyOf(passphrase, sealed.subarray(0, 16))
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(16, 28))
    decipher.setAuthTag(sealed.subarray(28, 44))
    return Buffer.concat([decipher.update(sealed.subarray(44)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/** Each guess of a passphrase costs about 100 ms and 64 MB. */
const keyOf = (passphrase: string, salt: Buffer) =>
  scryptSync(passphrase, salt, 32, { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 1024 ** 2 })
