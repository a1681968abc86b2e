import { newSecret, settleSecret, stageSecret } from '../../hosts/secret/installation-secrets.ts'
import { rotateSecret } from '../../hosts/secret/rotate-secret.ts'
import { deriveSecrets } from '../../secrets.ts'
import { type Command, UsageError } from '../command.ts'
import { asOperator } from './as-operator.ts'

/** Cut off anywhere, it is completed or undone by the next start. */
export const secretCommand: Command = {
  name: 'secret rotate',
  usage: '',
  summary: 're-encrypt all tokens with a new secret: CARTAGE_NEW_SECRET, or a generated one when embedded',
  positionals: [],
  options: {},
  run: async () => {
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
        'start every process anew with it',
      ],
    }
  },
}
