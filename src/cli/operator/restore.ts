import { basename } from 'node:path'
import type { OpenBackup } from '../../accounts/restore/backup-file.ts'
import { recordRestore } from '../../accounts/restore/restore-audit.ts'
import { restoreInstallation } from '../../accounts/restore/restore-installation.ts'
import { endMoves } from '../../accounts/restore/restore-store.ts'
import { checkNewName, restoreUser } from '../../accounts/restore/restore-user.ts'
import { runningBackup } from '../../accounts/restore/running-backup.ts'
import type { Backup } from '../../accounts/restore/saved-user.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { keepSecrets } from '../../hosts/secret/installation-secrets.ts'
import { createLog } from '../../log/log.ts'
import { chooseBinaries } from '../../postgres/cluster/embedded-cluster.ts'
import { restoreCluster } from '../../postgres/cluster/restore.ts'
import { temporaryFolder } from '../../postgres/cluster/temporary-cluster.ts'
import { openBackup } from '../backup/backup-file.ts'
import { givenPassphrase, openKeys } from '../backup/sealed-keys.ts'
import type { Command, CommandCall, CommandResult } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { untilInterrupted } from '../interrupt.ts'
import { textOf } from '../option-values.ts'
import { asOperator } from './as-operator.ts'
import { talk } from './explain-error.ts'

export const restore: Command['run'] = async (call) => {
  const [username, as] = [textOf(call.values, 'user'), textOf(call.values, 'as')]
  if (username !== undefined && as !== undefined) return restoreOne(call.args[0]!, username, as)
  if (username !== undefined || as !== undefined)
    throw new UsageError('--user and --as belong together: --user alice --as alice2')
  return restoreAll(call)
}

async function restoreOne(file: string, username: string, as: string): Promise<CommandResult> {
  const opened = await openBackup(file)
  const { note } = opened
  try {
    const { masterToken, keys } = await asOperator(async (installation, config) => {
      await checkNewName(installation, as)
      const details = { from: username, file: basename(file), backup_of: note.created_at }
      await recordRestore(installation.databases.control, 'restore.requested', as, details)
      return readingBackup(config, opened, (backup, signal) =>
        restoreUser(installation, backup, { username, as, details, signal }),
      )
    })
    return {
      document: {
        username: as,
        api_key: masterToken,
        keys,
        restored_from: username,
        created_at: note.created_at,
      },
      lines: [
        `restored the user ${username} of ${note.created_at} as ${as}`,
        `master key  ${masterToken}`,
        ...(keys.length > 0 ? [`keys with new tokens  ${keys.join(', ')}`] : []),
      ],
    }
  } finally {
    opened.tar.destroy()
  }
}

async function restoreAll({ args, values }: CommandCall): Promise<CommandResult> {
  const config = readConfig()
  if (config.databaseUrl) return restoreIntoServer(config, { args, values })
  const opened = await openBackup(args[0]!)
  try {
    const keys = openKeys(opened, await givenPassphrase(values))
    const binaries = await chooseBinaries(opened.note.postgres)
    const log = createLog('error', process.stderr)
    const beforeUse = async () => {
      if (keys) await keepSecrets(config, keys)
    }
    const settle = { database: opened.note.namespace, statement: endMoves }
    await restoreCluster(config.dataDir, { binaries, tar: opened.tar, log, settle, beforeUse })
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

async function restoreIntoServer(
  config: Config,
  { args, values }: Pick<CommandCall, 'args' | 'values'>,
): Promise<CommandResult> {
  const opened = await openBackup(args[0]!)
  const { namespace, postgres: major, created_at } = opened.note
  try {
    if (namespace !== config.namespace)
      throw new UsageError(
        `the names in this backup begin with ${namespace}: set CARTAGE_NAMESPACE=${namespace}`,
      )
    const users = await restoreInstallation(
      {
        config,
        log: createLog('error', process.stderr),
        running: (work) => readingBackup(config, opened, work),
        withHosts: values['with-hosts'] === true,
        secret: openKeys(opened, await givenPassphrase(values))?.secret ?? config.secret,
      },
      { namespace, major },
    )
    return {
      document: { ...opened.note, users },
      lines: [
        `restored the installation of ${created_at} with ${users} users; its secret is CARTAGE_SECRET now`,
      ],
    }
  } finally {
    opened.tar.destroy()
  }
}

/** Runs the backup as a cluster of its own while `work` reads it. */
function readingBackup<T>(
  { dataDir }: Config,
  opened: OpenBackup,
  work: (backup: Backup, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const folder = temporaryFolder(dataDir)
  const log = createLog('error', process.stderr)
  talk(`unpacking the backup into ${folder}`)
  return untilInterrupted((signal) =>
    runningBackup({ folder, opened, log, signal }, (backup) => {
      talk('copying')
      return work(backup, signal)
    }),
  )
}
