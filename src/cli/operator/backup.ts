import { readConfig } from '../../config/config.ts'
import { readVersion } from '../../files/package-file.ts'
import { keepSecrets, loadOrCreateSecrets } from '../../hosts/secret/installation-secrets.ts'
import { createLog } from '../../log/log.ts'
import { takeBaseBackup } from '../../postgres/cluster/base-backup.ts'
import { chooseBinaries } from '../../postgres/cluster/embedded-cluster.ts'
import { restoreCluster } from '../../postgres/cluster/restore.ts'
import { firstHostId } from '../../postgres/hosts.ts'
import { type BackupNote, type OpenBackup, openBackup, writeBackup } from '../backup/backup-file.ts'
import { openWithPassphrase, sealWithPassphrase } from '../backup/passphrase.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { readSecretFile } from '../named-file.ts'
import { type OptionValues, textOf } from '../option-values.ts'
import { asOperator } from './as-operator.ts'

const backup: Command['run'] = async ({ args, values }) => {
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

const restore: Command['run'] = async ({ args, values }) => {
  const config = readConfig()
  if (config.databaseUrl)
    throw new UsageError('a backup is restored as an embedded installation: unset CARTAGE_DATABASE_URL')
  const opened = await openBackup(args[0]!)
  try {
    const keys = openKeys(opened, await givenPassphrase(values))
    const binaries = await chooseBinaries(opened.note.postgres)
    const log = createLog('error', process.stderr)
    await restoreCluster(config.dataDir, binaries, opened.tar, log, async () => {
      if (keys) await keepSecrets(config, keys)
    })
  } finally {
    opened.tar.destroy()
  }
  const { note } = opened
  return {
    document: { data_dir: config.dataDir, ...note },
    lines: [
      `restored the installation of ${note.created_at} into ${config.dataDir}`,
      ...(note.namespace === config.namespace ? [] : [`start it with CARTAGE_NAMESPACE=${note.namespace}`]),
      ...(note.has_secret ? [] : [`its secret is not in the backup: put it into ${config.dataDir}/secret`]),
    ],
  }
}

export const backupRuns = { backup, restore } as const

type Keys = Readonly<{ secret: string; adminToken: string }>

function sealKeys(passphrase: string, { secret, adminToken }: Keys): Buffer {
  return sealWithPassphrase(passphrase, JSON.stringify({ secret, adminToken }))
}

function openKeys({ note, secret }: OpenBackup, passphrase: string | undefined): Keys | undefined {
  if (!note.has_secret) return undefined
  if (passphrase === undefined)
    throw new UsageError(
      'the secret in this backup is sealed: set CARTAGE_BACKUP_PASSPHRASE, or give --passphrase-file',
    )
  const text = secret && openWithPassphrase(passphrase, secret)
  if (text === undefined) throw new UsageError('this passphrase does not open the secret in the backup')
  return JSON.parse(text) as Keys
}

async function givenPassphrase(values: OptionValues): Promise<string | undefined> {
  const file = textOf(values, 'passphrase-file')
  const passphrase =
    file === undefined ? readConfig().backupPassphrase : await readSecretFile(file, 'passphrase')
  if (passphrase && passphrase.length < 12)
    throw new UsageError('the passphrase must have 12 characters or more')
  return passphrase || undefined
}
