import type { BackupNote } from '../../accounts/restore/backup-file.ts'
import { readVersion } from '../../files/package-file.ts'
import { loadOrCreateSecrets } from '../../hosts/secret/installation-secrets.ts'
import { takeBaseBackup } from '../../postgres/cluster/base-backup.ts'
import { chooseBinaries } from '../../postgres/cluster/embedded-cluster.ts'
import { firstHostId } from '../../postgres/hosts.ts'
import { writeBackup } from '../backup/backup-file.ts'
import { givenPassphrase, sealKeys } from '../backup/sealed-keys.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { asOperator } from './as-operator.ts'

export const backup: Command['run'] = async ({ args, values }) => {
  const file = args[0]!
  const passphrase = values['without-secret'] ? undefined : await givenPassphrase(values)
  if (passphrase === undefined && !values['without-secret'])
    throw new UsageError('set CARTAGE_BACKUP_PASSPHRASE, or leave the secret out: --without-secret')
  const saved = await asOperator(async ({ databases }, config, adminUrl) => {
    const { rows } = await databases.control.query<{ major: number }>(
      `select current_setting('server_version_num')::integer / 10000 as major`,
    )
    const keys = await loadOrCreateSecrets(config, config.databaseUrl ? undefined : adminUrl)
    const note: BackupNote = {
      format: 1,
      version: readVersion(),
      postgres: rows[0]!.major,
      namespace: config.namespace,
      created_at: new Date().toISOString(),
      has_secret: passphrase !== undefined,
    }
    const binaries = await chooseBinaries(note.postgres)
    const secret = passphrase === undefined ? undefined : sealKeys(passphrase, keys)
    await writeBackup(file, note, secret, (write) => takeBaseBackup(adminUrl, binaries, write))
    return { note, others: databases.hosts.all().filter(({ id }) => id !== firstHostId) }
  })
  return {
    document: { file, ...saved.note, not_included: saved.others.map(({ name }) => name) },
    lines: [
      saved.note.has_secret ? `saved ${file}` : `saved ${file} without the secret: keep that elsewhere`,
      ...saved.others.map(({ name }) => `not in it: the host ${name}, which is a cluster of its own`),
    ],
  }
}
