import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import WebSocket from 'ws'
import { eventually } from '../../support/service/setup.ts'

/**
 * A tab of Debian's Firefox, driven by WebDriver BiDi. Playwright drives only a Firefox of its own, which it downloads.
 */
export type FirefoxTab = Readonly<{
  goTo: (url: string) => Promise<void>
  /** The value of an expression on the page, as JSON. */
  evaluate: (expression: string) => Promise<unknown>
  /** Waits until an expression is true on the page. */
  waitFor: (expression: string) => Promise<void>
  /** Types into what has the focus. A code point of WebDriver is a key: see `keys`. */
  type: (text: string) => Promise<void>
  /** Presses keys together: those before the last are held. */
  press: (...held: string[]) => Promise<void>
  setWidth: (width: number) => Promise<void>
  /** Errors of the page, and requests to other origins than `origin`. */
  problems: (origin: string) => string[]
}>

/** https://www.w3.org/TR/webdriver2/#keyboard-actions */
export const keys = { control: '\uE009', enter: '\uE007' }

/** Undefined if this machine has no Firefox. */
export async function openFirefox(t: TestContext): Promise<FirefoxTab | undefined> {
  const profile = await mkdtemp(join(tmpdir(), 'firefox-'))
  t.after(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }))
  const options = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0']
  const firefox = spawn('firefox-esr', options, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: profile },
  })
  const address = await Promise.race([listening(firefox), once(firefox, 'error').then(() => undefined)])
  if (address === undefined) return undefined
  t.after(() => end(firefox))
  const connection = await connect(`${address}/session`)
  t.after(() => connection.close())
  await connection.send('session.new', { capabilities: {} })
  await connection.send('session.subscribe', { events: ['log.entryAdded', 'network.beforeRequestSent'] })
  const { contexts } = await connection.send<{ contexts: { context: string }[] }>('browsingContext.getTree')
  return tabOf(connection, contexts[0]!.context)
}

/** The address where it listens. Rejects if it ends before. */
async function listening(firefox: ChildProcess): Promise<string> {
  let told = ''
  for await (const line of createInterface({ input: firefox.stderr! })) {
    told += `${line}\n`
    const [, address] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? []
    if (address === undefined) continue
    // Read on, or its later output would fill the pipe.
    firefox.stderr!.resume()
    return address
  }
  throw new Error(`Firefox ended: ${told}`)
}

async function end(firefox: ChildProcess): Promise<void> {
  if (firefox.exitCode !== null || firefox.signalCode !== null) return
  firefox.kill('SIGKILL')
  await once(firefox, 'exit')
}

type Message = Readonly<{
  id?: number
  type: 'success' | 'error' | 'event'
  result?: unknown
  message?: string
  method?: string
  params?: Readonly<{ level?: string; text?: string; request?: Readonly<{ url: string }> }>
}>

type Connection = Readonly<{
  send: <T>(method: string, params?: object) => Promise<T>
  events: readonly Message[]
  close: () => void
}>

async function connect(address: string): Promise<Connection> {
  const socket = new WebSocket(address)
  await once(socket, 'open')
  const waiting = new Map<number, (message: Message) => void>()
  const events: Message[] = []
  let last = 0
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message
    if (message.type === 'event') events.push(message)
    else waiting.get(message.id!)?.(message)
  })
  return {
    events,
    close: () => socket.terminate(),
    send: async <T>(method: string, params: object = {}) => {
      const id = ++last
      const answer = new Promise<Message>((resolve) => waiting.set(id, resolve))
      socket.send(JSON.stringify({ id, method, params }))
      const { type, result, message } = await answer
      assert.equal(type, 'success', `${method}: ${message}`)
      return result as T
    },
  }
}

function tabOf({ send, events }: Connection, context: string): FirefoxTab {
  const evaluate = async (expression: string) => {
    const { result, exceptionDetails } = await send<{
      result: { value?: string }
      exceptionDetails?: { text: string }
    }>('script.evaluate', {
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`,
      target: { context },
      awaitPromise: true,
    })
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.text}`)
    return JSON.parse(result.value!) as unknown
  }
  const perform = (actions: readonly (readonly ['keyDown' | 'keyUp', string])[]) =>
    send('input.performActions', {
      context,
      actions: [{ type: 'key', id: 'keyboard', actions: actions.map(([type, value]) => ({ type, value })) }],
    })
  return {
    goTo: async (url) => {
      await send('browsingContext.navigate', { context, url, wait: 'complete' })
    },
    evaluate,
    waitFor: async (expression) => {
      await eventually(async () => assert.ok(await evaluate(expression), expression), 60_000)
    },
    type: async (text) => {
      await perform(
        [...text].flatMap((key) => [
          ['keyDown', key],
          ['keyUp', key],
        ]),
      )
    },
    press: async (...held) => {
      await perform([
        ...held.map((key) => ['keyDown', key] as const),
        ...held.toReversed().map((key) => ['keyUp', key] as const),
      ])
    },
    setWidth: async (width) => {
      await send('browsingContext.setViewport', { context, viewport: { width, height: 800 } })
    },
    problems: (origin) => events.flatMap((event) => problemOf(event, origin)),
  }
}

function problemOf({ method, params }: Message, origin: string): string[] {
  if (method === 'log.entryAdded') return params?.level === 'error' ? [`error: ${params.text}`] : []
  const url = params?.request?.url
  // Firefox itself checks for updates at its start.
  if (url === undefined || !/^https?:/.test(url) || url.startsWith(`${origin}/`)) return []
  return [`request to another origin: ${url}`]
}
