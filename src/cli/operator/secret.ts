import { newSecret, settleSecret, stageSecret } from '../../hosts/secret/installation-secrets.ts'
import { rotateSecret } from '../../hosts/secret/rotate-secret.ts'
import { deriveSecrets } from '../../secrets.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { asOperator } from './as-operator.ts'

/** If the process is killed, the next start completes or undoes the rotation. */
export const runSecretRotate: Command['run'] = async () => {
  const rotation = await asOperator(async (installation, config) => {
    if (config.secret && !config.newSecret)
      throw new UsageError('CARTAGE_NEW_SECRET must be set where CARTAGE_SECRET is')
    const secret = config.newSecret || newSecret()
    const fresh = deriveSecrets(secret)
    if (fresh.verifier.equals(installation.secrets.verifier))
      throw new UsageError('CARTAGE_NEW_SECRET is the secret that the installation has already')
    const moved = await rotateSecret(installation, fresh, () => stageSecret(config, secret))
    await settleSecret(config, true)
    return moved
  })
  return {
    document: rotation,
    lines: [
      `moved ${rotation.keys} tokens, ${rotation.hosts} hosts and ${rotation.roles} role passwords to the new secret`,
      'restart every process with it',
    ],
  }
}
