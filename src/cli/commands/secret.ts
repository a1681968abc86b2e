import { adoptNewSecret, newSecretOf } from '../../accounts/service-keys.ts'
import { rotateSecret } from '../../keys/rotate-secret.ts'
import { deriveSecrets } from '../../secrets.ts'
import { type Command, UsageError } from '../command.ts'
import { asOperator } from '../operator.ts'

/** Can be repeated if it was cut short. Every process must be started anew with the new secret. */
export const secretCommand: Command = {
  name: 'secret rotate',
  usage: '',
  summary: 're-encrypt all tokens with a new secret: CARTAGE_NEW_SECRET, or a generated one when embedded',
  positionals: [],
  options: {},
  run: async () => {
    const rotation = await asOperator(async (accounts, config) => {
      if (config.secret && !config.newSecret)
        throw new UsageError('CARTAGE_NEW_SECRET must be set where CARTAGE_SECRET is')
      const moved = await rotateSecret(accounts, deriveSecrets(await newSecretOf(config)))
      await adoptNewSecret(config)
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
