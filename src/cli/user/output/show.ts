import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Terminal } from '../../terminal.ts'
import { writeAll } from '../whole-file.ts'

/** Writes text to stdout, through the pager if it is taller than the terminal. */
export async function showText(texts: AsyncIterable<string>, terminal: Terminal): Promise<void> {
  const { isTerminal, rows, stream } = terminal.out
  const [program = ''] = terminal.pager.split(' ')
  const hasPager = isTerminal && /^[\w./-]+$/.test(program) && process.platform !== 'win32'
  if (!hasPager) return writeAll(texts, stream)
  let held = ''
  let lines = 0
  const rest = texts[Symbol.asyncIterator]()
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    held += next.value
    lines += next.value.split('\n').length - 1
    if (lines >= rows - 1) return page(terminal.pager, program, afterwards(held, rest))
  }
  stream.write(held)
}

async function* afterwards(first: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    yield first
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

async function page(pager: string, program: string, texts: AsyncIterable<string>): Promise<void> {
  // The machine may not have the pager.
  const command = `if command -v ${program} >/dev/null 2>&1; then exec ${pager}; else exec cat; fi`
  const child = spawn('sh', ['-c', command], { stdio: ['pipe', 'inherit', 'inherit'] })
  // While the pager runs, Ctrl-C is for the pager.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  child.stdin.on('error', ignore)
  const closed = once(child, 'close')
  try {
    for await (const text of texts) {
      if (!child.stdin.writable) break
      if (!child.stdin.write(text)) await Promise.race([once(child.stdin, 'drain').catch(ignore), closed])
    }
  } finally {
    child.stdin.end()
    await closed
    process.off('SIGINT', ignore)
  }
}
