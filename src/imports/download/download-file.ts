import { createWriteStream } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { isIP } from 'node:net'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Network, type NetworkAddress, only } from '../../network/network.ts'
import { ImportFailure } from '../import-failure.ts'
import { downloadName } from './file-name.ts'

export type DownloadLimits = Readonly<{
  /** 0: none. */
  maxBytes: number
  /** The server must send something within it. */
  idleMs: number
  signal: AbortSignal
}>

/**
 * Fetches a file by HTTP to `path`, and returns its name. The address is resolved once, checked, and then connected to;
 * so is that of each redirect. Throws an ImportFailure.
 */
export async function downloadFile(
  network: Network,
  address: string,
  path: string,
  limits: DownloadLimits,
): Promise<string> {
  let url = checkUrl(address)
  try {
    for (let redirects = 0; ; redirects++) {
      const response = await ask(network, url, limits)
      const next = redirectOf(response, url)
      if (!next) {
        await store(response, path, limits)
        const { 'content-disposition': disposition, 'content-type': type } = response.headers
        return downloadName(url, disposition, type)
      }
      response.destroy()
      if (redirects >= maxRedirects)
        throw new ImportFailure(1001, `The address redirects more than ${maxRedirects} times`)
      url = checkUrl(next)
    }
  } catch (error) {
    limits.signal.throwIfAborted()
    throw downloadFailure(error, url)
  }
}

const maxRedirects = 5

/** http or https, without a user and a password. */
export function checkUrl(address: string): URL {
  if (!URL.canParse(address)) throw new ImportFailure(1001, 'The url is not an address')
  const url = new URL(address)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ImportFailure(1001, 'The url must begin with http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw new ImportFailure(1001, 'The url must not have a user name or a password')
  return url
}

async function ask(network: Network, url: URL, { idleMs, signal }: DownloadLimits): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const addresses = await resolved(network, host, idleMs)
  if (!addresses.every(({ address }) => network.mayConnect(address, port)))
    throw new ImportFailure(1100, `${url.host} is not an address on the public internet, port 80 or 443`)
  const send = url.protocol === 'https:' ? overHttps : overHttp
  const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'Cartage' }
  const request = send(url, { agent: false, lookup: only(addresses), headers, signal })
  let response: IncomingMessage | undefined
  request.setTimeout(idleMs, () => {
    const late = new ImportFailure(1020, `${url.host} does not answer`)
    response?.destroy(late)
    request.destroy(late)
  })
  response = await answerOf(request)
  return response
}

async function resolved(network: Network, host: string, idleMs: number): Promise<readonly NetworkAddress[]> {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ImportFailure(1020, `The name ${host} is not resolved`)), idleMs)
  })
  try {
    const found = await Promise.race([network.resolve(host), late])
    if (found.length === 0) throw new ImportFailure(1100, `The name ${host} has no address`)
    return found
  } finally {
    clearTimeout(timer)
  }
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    // Also after the answer has begun: its stream has the error too.
    request.on('error', reject)
    request.end()
  })
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): string | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return undefined
  return URL.canParse(headers.location, from.href) ? new URL(headers.location, from).href : headers.location
}

async function store(
  response: IncomingMessage,
  path: string,
  { maxBytes, signal }: DownloadLimits,
): Promise<void> {
  const { statusCode = 0, headers } = response
  try {
    if (statusCode !== 200)
      throw new ImportFailure(codeOf(statusCode), `The server answers with status ${statusCode}`)
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new ImportFailure(1001, 'The server sends the file compressed, which was not asked for')
    if (maxBytes > 0 && Number(headers['content-length'] ?? 0) > maxBytes) throw tooBig(maxBytes)
  } catch (error) {
    response.destroy()
    throw error
  }
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      done(maxBytes > 0 && bytes > maxBytes ? tooBig(maxBytes) : null, chunk)
    },
  })
  await pipeline(response, count, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal })
}

const tooBig = (maxBytes: number) => new ImportFailure(6666, `The file is larger than ${maxBytes} bytes`)

function codeOf(status: number) {
  if (status === 401 || status === 403) return 1101
  if (status === 404 || status === 410) return 1102
  return status >= 500 ? 1103 : 1001
}

/** The text does not show names and addresses of this machine's network. */
function downloadFailure(error: unknown, { host }: URL): unknown {
  if (error instanceof ImportFailure) return error
  const { code = '', syscall } = error as NodeJS.ErrnoException
  if (syscall === 'open' || syscall === 'write') return error
  if (/^(ENOTFOUND|EAI_\w+|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/.test(code))
    return new ImportFailure(1100, `${host} cannot be reached`, { cause: error })
  if (code === 'ETIMEDOUT') return new ImportFailure(1020, `${host} does not answer`, { cause: error })
  return new ImportFailure(1001, `The file could not be downloaded from ${host}`, { cause: error })
}
