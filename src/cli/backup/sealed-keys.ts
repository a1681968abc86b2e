import type { OpenBackup } from '../../accounts/restore/backup-file.ts'
import { readConfig } from '../../config/config.ts'
import { UsageError } from '../command-error.ts'
import { readSecretFile } from '../named-file.ts'
import { type OptionValues, textOf } from '../option-values.ts'
import { openWithPassphrase, sealWithPassphrase } from './passphrase.ts'

/** The secret and the admin token of an installation. */
export type Keys = Readonly<{ secret: string; adminToken: string }>

export function sealKeys(passphrase: string, { secret, adminToken }: Keys): Buffer {
  return sealWithPassphrase(passphrase, JSON.stringify({ secret, adminToken }))
}

export function openKeys({ note, secret }: OpenBackup, passphrase: string | undefined): Keys | undefined {
  if (!note.has_secret) return undefined
  if (passphrase === undefined)
    throw new UsageError(
      'the secret in this backup is sealed: set CARTAGE_BACKUP_PASSPHRASE, or give --passphrase-file',
    )
  const text = secret && openWithPassphrase(passphrase, secret)
  if (text === undefined) throw new UsageError('this passphrase does not open the secret in the backup')
  return JSON.parse(text) as Keys
}

export async function givenPassphrase(values: OptionValues): Promise<string | undefined> {
  const file = textOf(values, 'passphrase-file')
  const passphrase =
    file === undefined ? readConfig().backupPassphrase : await readSecretFile(file, 'passphrase')
  if (passphrase && passphrase.length < 12)
    throw new UsageError('the passphrase must have 12 characters or more')
  return passphrase || undefined
}
