import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** Everything derived from the one server secret. Each use has its own key (HKDF with a label). */
export type Secrets = Readonly<{
  /** Tells whether two processes have the same secret, and reveals nothing else. */
  verifier: Buffer
  /** The keyed hash by which a token is looked up. */
  hashToken: (token: string) => Buffer
  encryptToken: (token: string) => Buffer
  decryptToken: (sealed: Buffer) => string
  /** The password of a role: derived, so it is not stored. */
  rolePassword: (role: string) => string
  /** Encrypts any other text at rest, such as a host's connection string. */
  seal: (text: string) => Buffer
  open: (sealed: Buffer) => string
}>

export function deriveSecrets(secret: string): Secrets {
  const derive = (label: string) => Buffer.from(hkdfSync('sha256', secret, 'cartage', label, 32))
  const hashKey = derive('token hash')
  const tokenKey = derive('token encryption')
  const passwordKey = derive('role password')
  const sealKey = derive('sealing')
  return {
    verifier: derive('verifier'),
    hashToken: (token) => createHmac('sha256', hashKey).update(token).digest(),
    encryptToken: (token) => encrypt(tokenKey, token),
    decryptToken: (sealed) => decrypt(tokenKey, sealed),
    rolePassword: (role) => createHmac('sha256', passwordKey).update(role).digest('base64url'),
    seal: (text) => encrypt(sealKey, text),
    open: (sealed) => decrypt(sealKey, sealed),
  }
}

/** AES-256-GCM: nonce, tag, ciphertext. */
function encrypt(key: Buffer, text: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

function decrypt(key: Buffer, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
  decipher.setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8')
}
