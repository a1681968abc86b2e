import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'
import { unlessAborted } from '../waiting/unless-aborted.ts'
import type { Destination } from './audit-shipper.ts'
import type { AuditRecord } from './audit-store.ts'

/** A syslog server, by UDP or TCP, or the socket of the one on this machine. `address`: as the configuration has it. */
export function auditSyslog(address: string): Destination {
  const { protocol, hostname: host, port, pathname } = new URL(address)
  const at = { host: host.replace(/^\[|\]$/g, ''), port: Number(port || 514) }
  const send = (records: readonly AuditRecord[]) => {
    if (protocol === 'unix:') return sendToSocket(decodeURIComponent(pathname), records)
    const messages = records.map((record) => Buffer.from(syslogMessage(record)))
    return protocol === 'tcp:' ? sendByTcp(at, messages) : sendByUdp(at, messages)
  }
  return { sink: 'syslog', address, send }
}

/** RFC 5424. The message is the record as JSON, whose text has no control characters. */
export function syslogMessage(record: AuditRecord): string {
  const time = record.at.toISOString()
  return `<${priority}>1 ${time} ${ownName()} cartage ${process.pid} ${record.action} - ${jsonOf(record)}`
}

/** Facility authpriv, severity informational. */
const priority = 10 * 8 + 6

/** The size of one message: servers cut or drop longer messages. The whole record stays in the database. */
const mostBytes = 8_000

function jsonOf(record: AuditRecord): string {
  const json = JSON.stringify(record)
  const bytes = Buffer.byteLength(json)
  return bytes <= mostBytes ? json : JSON.stringify({ ...record, details: { cut: true, bytes } })
}

const ownName = () =>
  hostname()
    .replace(/[^\x21-\x7e]/g, '')
    .slice(0, 255) || '-'

type SyslogServer = Readonly<{ host: string; port: number }>

/** Nobody tells whether a datagram has arrived. */
async function sendByUdp({ host, port }: SyslogServer, messages: readonly Buffer[]): Promise<void> {
  const { address, family } = await lookup(host)
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
  // Without a listener an error would end the process.
  const failed = new AbortController()
  socket.on('error', (error) => failed.abort(error))
  const signal = AbortSignal.any([failed.signal, AbortSignal.timeout(waitMs)])
  try {
    for (const message of messages) {
      const sent = new Promise<void>((resolve, reject) =>
        socket.send(message, port, address, (error) => (error ? reject(error) : resolve())),
      )
      await unlessAborted(signal, sent)
    }
  } finally {
    socket.close()
  }
}

/** Each message with its length before it (RFC 6587). The server ends the connection after us: it has read all. */
async function sendByTcp({ host, port }: SyslogServer, messages: readonly Buffer[]): Promise<void> {
  const socket = connect({ host, port, timeout: waitMs })
  socket.once('timeout', () => socket.destroy(new Error(`${host} does not answer`)))
  // Servers answer nothing; what comes is dropped, so that the end is seen.
  socket.resume()
  socket.end(Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message])))
  await once(socket, 'close')
}

/** Node has no datagram sockets of Unix, so `logger` of util-linux, which is on every Debian, sends the lines. */
async function sendToSocket(path: string, records: readonly AuditRecord[]): Promise<void> {
  const child = spawn(
    'logger',
    [
      '--socket',
      path,
      '--socket-errors=on',
      '--tag',
      'cartage',
      '--id',
      '--priority',
      'authpriv.info',
      '--size',
      '16384',
    ],
    { stdio: ['pipe', 'ignore', 'pipe'], timeout: waitMs, killSignal: 'SIGKILL' },
  )
  // The program may end before it has read everything; its exit code says why.
  child.stdin.on('error', () => undefined)
  child.stdin.end(records.map((record) => `${jsonOf(record)}\n`).join(''))
  const [[code], said] = await Promise.all([once(child, 'close'), text(child.stderr)])
  if (code !== 0 || said !== '') throw new Error(said.trim() || `logger ended with ${code}`)
}

const waitMs = 5_000
