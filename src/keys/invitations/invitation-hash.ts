import { createHash } from 'node:crypto'

/** How a secret is stored. Without the secret of the installation, so that links outlive its rotation. */
export const invitationHash = (secret: string): Buffer => createHash('sha256').update(secret).digest()
