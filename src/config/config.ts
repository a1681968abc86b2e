import { homedir } from 'node:os'
import { join } from 'node:path'
import { areAlike, ConfigError, type Variable } from './config-variables.ts'
import { variables } from './known-variables.ts'

export type Config = Readonly<{ [K in keyof typeof variables]: ReturnType<(typeof variables)[K]['read']> }>

/** Reads the environment into one frozen Config, or throws a ConfigError that says what is wrong. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const entries = Object.entries(variables).map(([key, variable]) => [key, readVariable(variable, env)])
  const config = Object.freeze(Object.fromEntries(entries)) as Config
  if (config.databaseUrl && !config.secret) {
    throw new ConfigError(
      'CARTAGE_SECRET must be set when CARTAGE_DATABASE_URL is: keep it, every key depends on it',
    )
  }
  for (const { name } of [variables.secret, variables.newSecret]) {
    const secret = env[name]?.trim()
    if (secret && secret.length < 32) throw new ConfigError(`${name} must have 32 characters or more`)
  }
  if (config.adminToken && config.adminToken.length < 24) {
    throw new ConfigError(
      'CARTAGE_ADMIN_TOKEN must have 24 characters or more: it gives access to every account',
    )
  }
  return config
}

export const importFolderOf = ({ importDir, dataDir }: Pick<Config, 'importDir' | 'dataDir'>): string =>
  importDir || join(dataDir, 'imports')

export type UserConfig = ReturnType<typeof readUserConfig>

/** The configuration of the command line for people: from its own variables, the shell and the terminal. */
export function readUserConfig(env: NodeJS.ProcessEnv = process.env) {
  const folder = (variable: string, usual: string) =>
    join(env[variable]?.trim() || join(homedir(), usual), 'cartage')
  return Object.freeze({
    url: readVariable(variables.clientUrl, env) as string,
    user: readVariable(variables.clientUser, env) as string,
    key: readVariable(variables.clientKey, env) as string,
    profile: readVariable(variables.clientProfile, env) as string,
    configFolder: folder('XDG_CONFIG_HOME', '.config'),
    stateFolder: folder('XDG_STATE_HOME', '.local/state'),
    isPlain: Boolean(env.NO_COLOR) || env.TERM === 'dumb',
    pager: env.PAGER?.trim() ?? 'less -RFSX',
    editor: env.VISUAL?.trim() || env.EDITOR?.trim() || 'vi',
  })
}

/** Unknown variables that look like ours, each with the known one that may be meant. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  const known: readonly string[] = Object.values(variables).map(({ name }) => name)
  return Object.keys(env)
    .filter((name) => /^CARTAGE_(?!TEST_)/.test(name) && !known.includes(name))
    .map((name) => {
      const near = known.find((other) => areAlike(name, other))
      return near ? `${name} (${near}?)` : name
    })
}

function readVariable(variable: Variable<unknown>, env: NodeJS.ProcessEnv): unknown {
  return variable.read(env[variable.name]?.trim() || variable.fallback)
}
