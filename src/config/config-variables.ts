import { isIP } from 'node:net'
import { resolve } from 'node:path'

/** One environment variable: its name, its meaning, and how to read its value. */
export type Variable<T> = Readonly<{
  name: string
  meaning: string
  fallback: string
  read: (text: string) => T
}>

export class ConfigError extends Error {}

export function text(name: string, fallback: string, meaning: string): Variable<string> {
  return { name, meaning, fallback, read: (value) => value }
}

/** True for an http or https URL. */
export function isWebAddress(value: string): boolean {
  return /^https?:\/\/./.test(value) && URL.canParse(value)
}

export function webAddress(name: string, fallback: string, meaning: string): Variable<string> {
  const read = (value: string) => {
    if (value === '' || isWebAddress(value)) return value
    throw new ConfigError(`${name} must be an address that begins with http:// or https://, not '${value}'`)
  }
  return { name, meaning, fallback, read }
}

/** Raster tiles that a map may show below its layers. */
export type Basemap = Readonly<{ address: string; attribution: string }>

/** Addresses of tiles separated by `;`, each followed by whom to name for them. */
export function basemaps(name: string, meaning: string): Variable<readonly Basemap[]> {
  const read = (value: string) =>
    value
      .split(';')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
      .map((entry) => {
        const [, address = '', attribution = ''] = /^(\S+)\s*(.*)$/.exec(entry)!
        const isTemplate = ['{z}', '{x}', '{y}'].every((part) => address.includes(part))
        if (isWebAddress(address) && isTemplate) return { address, attribution }
        throw new ConfigError(
          `${name} must be addresses with {z}, {x} and {y} that begin with http:// or https://, separated by ;, not '${entry}'`,
        )
      })
  return { name, meaning, fallback: '', read }
}

/** A MapLibre style for each theme, drawn below the data of maps. */
export type MapStyle = Readonly<{ light: string; dark: string }>

/** One address for both themes, or the light and the dark one. */
export function mapStyle(name: string, meaning: string): Variable<MapStyle | undefined> {
  const read = (value: string) => {
    const [light, dark = light, ...more] = value.split(/\s+/).filter((part) => part !== '')
    if (light === undefined || dark === undefined) return undefined
    if (isWebAddress(light) && isWebAddress(dark) && more.length === 0) return { light, dark }
    throw new ConfigError(
      `${name} must be one address, or a light and a dark one, that begin with http:// or https://, not '${value}'`,
    )
  }
  return { name, meaning, fallback: '', read }
}

export function origins(name: string, meaning: string): Variable<readonly string[]> {
  const read = (value: string) => {
    const parts = value
      .split(/[\s,]+/)
      .filter((part) => part !== '')
      .map((part) => part.toLowerCase().replace(/\/$/, ''))
    const wrong = parts.find(
      (part) => !isWebAddress(part) || new URL(part).origin !== part || part.includes('*'),
    )
    if (wrong === undefined) return parts
    throw new ConfigError(
      `${name} must be a list of origins such as https://tiles.example.org, not '${wrong}'`,
    )
  }
  return { name, meaning, fallback: '', read }
}

export function syslogAddress(name: string, meaning: string): Variable<string> {
  const read = (value: string) => {
    const isAddress = /^(udp|tcp):\/\/(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?$|^unix:\/\/\/./i.test(value)
    if (value === '' || (isAddress && URL.canParse(value))) return value
    throw new ConfigError(
      `${name} must be an address such as udp://192.0.2.1:514, tcp://logs.example.org:514 or unix:///dev/log, not '${value}'`,
    )
  }
  return { name, meaning, fallback: '', read }
}

/** The value is not shown: it contains a password. */
export function databaseAddress(name: string, fallback: string, meaning: string): Variable<string> {
  const read = (value: string) => {
    if (value === '' || /^(postgres|postgresql|socket):/.test(value)) return value
    throw new ConfigError(`${name} must be an address that begins with postgres://`)
  }
  return { name, meaning, fallback, read }
}

/** Comma list of addresses and networks, in the format of Fastify's `trustProxy`. */
export function networks(name: string, fallback: string, meaning: string): Variable<string> {
  const read = (value: string) => {
    const parts = value.split(/[\s,]+/).filter((part) => part !== '')
    const wrong = parts.find((part) => !isNetwork(part))
    if (wrong === undefined) return parts.join(',')
    throw new ConfigError(
      `${name} must be a comma list of addresses or networks such as 10.0.0.0/8, not '${wrong}'`,
    )
  }
  return { name, meaning, fallback, read }
}

/** `off`, or a comma list of `public` and hosts with or without a port. */
export function targets(name: string, fallback: string, meaning: string): Variable<readonly string[]> {
  const read = (value: string) => {
    const parts = value
      .toLowerCase()
      .split(/[\s,]+/)
      .filter((part) => part !== '' && part !== 'off')
    const wrong = parts.find((part) => part !== 'public' && !isHostWithPort(part))
    if (wrong === undefined) return parts
    throw new ConfigError(
      `${name} must be off, public, or a comma list of hosts such as hooks.example.org:8443, not '${wrong}'`,
    )
  }
  return { name, meaning, fallback, read }
}

const isHostWithPort = (part: string) =>
  /^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:\d{1,5})?$/.test(part) && URL.canParse(`http://${part}`)

function isNetwork(part: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(part)) return true
  const [, address = '', bits] = /^([^/%]+)(?:\/([1-9]\d{0,2}))?$/.exec(part) ?? []
  const widest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  return widest > 0 && Number(bits ?? 1) <= widest
}

export function path(name: string, fallback: string, meaning: string): Variable<string> {
  return { name, meaning, fallback, read: (value) => resolve(value) }
}

export function name(name: string, fallback: string, meaning: string): Variable<string> {
  const read = (value: string) => {
    if (/^[a-z][a-z0-9_]{0,30}$/.test(value)) return value
    throw new ConfigError(`${name} must be 1 to 31 lower-case letters, digits or _, not '${value}'`)
  }
  return { name, meaning, fallback, read }
}

export function whole(
  name: string,
  fallback: number,
  meaning: string,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): Variable<number> {
  const read = (value: string) => {
    const number = Number(value)
    if (/^\d+$/.test(value) && number >= min && number <= max) return number
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not '${value}'`)
  }
  return { name, meaning, fallback: String(fallback), read }
}

/** A number of things. PostgreSQL counts in 32 bits, and we use at most twice the value. */
export function count(name: string, fallback: number, meaning: string, min: number): Variable<number> {
  return whole(name, fallback, meaning, min, 1_000_000_000)
}

/** A time. Above 24 days PostgreSQL refuses it, and a Node timer fires at once. */
export function milliseconds(name: string, fallback: number, meaning: string, min: number): Variable<number> {
  return whole(name, fallback, meaning, min, 2_000_000_000)
}

/** A hundred years are safe in PostgreSQL's calendar. */
export function days(name: string, fallback: number, meaning: string, min: number): Variable<number> {
  return whole(name, fallback, meaning, min, 36_500)
}

export function oneOf<T extends string>(
  name: string,
  fallback: T,
  meaning: string,
  values: readonly T[],
): Variable<T> {
  const read = (value: string) => {
    const found = values.find((known) => known === value)
    if (found !== undefined) return found
    throw new ConfigError(`${name} must be one of ${values.join(', ')}, not '${value}'`)
  }
  return { name, meaning, fallback, read }
}

export function flag(name: string, fallback: 'on' | 'off', meaning: string): Variable<boolean> {
  const word = oneOf(name, fallback, meaning, ['on', 'off'])
  return { ...word, read: (value) => word.read(value) === 'on' }
}

/** True if the texts differ by one wrong, missing or extra letter, or by two swapped ones. */
export function areAlike(one: string, other: string): boolean {
  const head = [...one].findIndex((letter, place) => letter !== other[place])
  const [rest, otherRest] = [one.slice(head), other.slice(head)]
  const swapped = `${rest[1]}${rest[0]}${rest.slice(2)}`
  return head < 0
    ? other.length === one.length + 1
    : [
        [rest.slice(1), otherRest.slice(1)],
        [rest, otherRest.slice(1)],
        [rest.slice(1), otherRest],
        [swapped, otherRest],
      ].some(([a, b]) => a === b)
}

/** `count` requests in `seconds`, at most `burst` at once. */
export type Rate = Readonly<{ count: number; seconds: number; burst: number }>

/** `100/60`, or `100/60+20` with a burst; `off` is null; anything else is undefined. */
export function parseRate(text: unknown): Rate | null | undefined {
  if (text === 'off') return null
  const [, ...parts] = /^(\d{1,9})\/(\d{1,9})(?:\+(\d{1,9}))?$/.exec(String(text)) ?? []
  const [count, seconds, burst = count] = parts.map((part) => (part === undefined ? undefined : Number(part)))
  return count && seconds && burst ? { count, seconds, burst } : undefined
}

export function rateText(rate: Rate | null): string {
  if (!rate) return 'off'
  const { count, seconds, burst } = rate
  return `${count}/${seconds}${burst === count ? '' : `+${burst}`}`
}

export function rate(name: string, meaning: string, fallback = 'off'): Variable<Rate | null> {
  const read = (value: string) => {
    const found = parseRate(value)
    if (found !== undefined) return found
    throw new ConfigError(
      `${name} must be 'off', COUNT/SECONDS or COUNT/SECONDS+BURST, such as 100/60+20, not '${value}'`,
    )
  }
  return { name, meaning: `${meaning}: COUNT/SECONDS or COUNT/SECONDS+BURST`, fallback, read }
}
