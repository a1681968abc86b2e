import { execFile } from 'node:child_process'
import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'

/**
 * How programs that read files of strangers are kept apart. `bubblewrap` and `unshare` give a program its own user, mount,
 * network, process and IPC namespaces; `none` is the operator's choice.
 */
export type SandboxKind = 'bubblewrap' | 'unshare' | 'none'

/** Limits of one run; 0: none. */
export type ConverterLimits = Readonly<{
  timeMs: number
  cpuSeconds: number
  memoryBytes: number
  /** The size of each file that it writes. */
  fileBytes: number
}>

/** The one directory that a program in the sandbox may write, by the name it has there. */
export const sandboxDirectory = '/work'

export type SandboxedCommand = Readonly<{
  program: string
  args: readonly string[]
  /** Becomes `sandboxDirectory`. */
  directory: string
  /** Files and folders to read in addition to the system's own, with their names in the sandbox. */
  readable?: readonly (readonly [path: string, name: string])[]
  /** What `memoryBytes` limits. JavaScript reserves far more addresses than it uses: of such a program only the data count. */
  memory?: 'addresses' | 'data'
  limits: ConverterLimits
}>

/** The command line that runs a command in a sandbox. Absolute paths only: its environment is empty. */
export function sandboxCommandLine(
  kind: SandboxKind,
  command: SandboxedCommand,
): readonly [string, ...string[]] {
  const limited = limitedCommandLine(command)
  const { directory, readable = [] } = command
  if (kind === 'bubblewrap') return [bubblewrap, ...bubblewrapOptions(directory, readable), '--', ...limited]
  if (kind === 'unshare')
    return [...diesWithParent, ...unshareWords, directory, ...readable.flat(), '--', ...limited]
  return [...diesWithParent, ...limited]
}

/** The best sandbox that works here; undefined: none does. */
export async function findSandbox(): Promise<'bubblewrap' | 'unshare' | undefined> {
  for (const kind of ['bubblewrap', 'unshare'] as const) if (await works(kind)) return kind
  return undefined
}

async function works(kind: SandboxKind): Promise<boolean> {
  const limits = { timeMs: 0, cpuSeconds: 10, memoryBytes: 0, fileBytes: 0 }
  const command = { program: '/usr/bin/true', args: [], directory: '/var/empty', limits }
  const directory = existsSync(command.directory) ? command.directory : '/tmp'
  const [program, ...args] = sandboxCommandLine(kind, { ...command, directory })
  if (!existsSync(program)) return false
  const run = promisify(execFile)(program, args, { env: {}, timeout: probeMs, killSignal: 'SIGKILL' })
  return run.then(
    () => true,
    () => false,
  )
}

function limitedCommandLine({ program, args, limits, memory }: SandboxedCommand): [string, ...string[]] {
  const { cpuSeconds, memoryBytes, fileBytes } = limits
  const options = [
    '--core=0',
    `--nofile=${maxOpenFiles}`,
    `--nproc=${maxProcesses}`,
    cpuSeconds > 0 && `--cpu=${Math.ceil(cpuSeconds)}`,
    memoryBytes > 0 && `--${memory === 'data' ? 'data' : 'as'}=${memoryBytes}`,
    fileBytes > 0 && `--fsize=${fileBytes}`,
  ].filter((option) => typeof option === 'string')
  return ['/usr/bin/prlimit', ...options, '--', program, ...args]
}

function bubblewrapOptions(directory: string, readable: readonly (readonly [string, string])[]): string[] {
  return [
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts'],
    ...['--unshare-cgroup-try', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...['--ro-bind', '/usr', '/usr'],
    ...systemFolders.flatMap(sameFolder),
    ...['--ro-bind-try', '/etc/ld.so.cache', '/etc/ld.so.cache'],
    ...['--ro-bind-try', '/etc/alternatives', '/etc/alternatives'],
    ...deviceFiles.flatMap((file) => ['--dev-bind', file, file]),
    ...readable.flatMap(([path, name]) => ['--ro-bind', path, name]),
    ...['--bind', directory, sandboxDirectory, '--remount-ro', '/', '--chdir', sandboxDirectory],
  ]
}

/** Folders beside /usr that programs are loaded from: links into /usr on most systems. */
const systemFolders = ['/bin', '/lib', '/lib32', '/lib64', '/sbin']

function sameFolder(path: string): string[] {
  if (!existsSync(path)) return []
  if (lstatSync(path).isSymbolicLink()) return ['--symlink', readlinkSync(path), path]
  return ['--ro-bind', path, path]
}

const deviceFiles = ['/dev/null', '/dev/zero', '/dev/urandom', '/dev/random']

const bubblewrap = '/usr/bin/bwrap'

/**
 * A root of its own with what bubblewrap would mount. `$1` is the directory, then come what is readable and, after `--`, the command. It has no
 * capability and cannot get one, so it cannot leave its root; in a changed root the system makes no user namespace.
 */
const unshareScript = `set -e
directory=$1; shift
mount --make-rprivate /
mount -t tmpfs -o size=1m,mode=755 none /mnt
for path in /usr /etc/alternatives ${systemFolders.join(' ')}; do
  if [ -L "$path" ]; then cp -P "$path" "/mnt$path"
  elif [ -d "$path" ]; then
    mkdir -p "/mnt$path"
    mount --bind "$path" "/mnt$path"
    mount -o remount,bind,ro,nosuid,nodev "/mnt$path"
  fi
done
mkdir -p /mnt/dev /mnt/etc "/mnt${sandboxDirectory}"
if [ -e /etc/ld.so.cache ]; then cp /etc/ld.so.cache /mnt/etc/ld.so.cache; fi
for file in ${deviceFiles.join(' ')}; do touch "/mnt$file"; mount --bind "$file" "/mnt$file"; done
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "/mnt$2"; else mkdir -p "/mnt\${2%/*}"; touch "/mnt$2"; fi
  mount --bind "$1" "/mnt$2"
  mount -o remount,bind,ro,nosuid,nodev "/mnt$2"
  shift 2
done
shift
mount --bind "$directory" "/mnt${sandboxDirectory}"
mount -o remount,ro /mnt
exec chroot /mnt /usr/bin/env -i -C ${sandboxDirectory} /usr/bin/setpriv --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"`

const unshareWords: readonly string[] = [
  '/usr/bin/unshare',
  ...['--user', '--map-root-user', '--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child'],
  ...['/usr/bin/env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', '/bin/sh', '-c', unshareScript, 'sh'],
]

const diesWithParent = ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'] as const

const maxOpenFiles = 256
const maxProcesses = 512
const probeMs = 10_000
