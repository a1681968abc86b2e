import workerName from 'worker:./file-worker.ts'
import { signal } from '@preact/signals'
import type { CsvDialect } from '../../src/file-import/csv-head.ts'
import type { ImportPlan } from '../../src/file-import/import-plan.ts'
import type { FileReading } from '../../src/file-import/read-types.ts'
import { isRewritten } from '../../src/file-import/rewrite-rows.ts'
import { assetAddress } from '../parts/browser/address.ts'
import type { FileHead, FileProblem, FromFileWorker, ToFileWorker, UploadBody } from './file-protocol.ts'

/** A file to upload. A worker reads it and adds the facts it finds. */
export class ChosenFile {
  readonly file: File
  /** A file of the console itself: loaded without a question. */
  readonly isSample: boolean
  readonly head = signal<FileHead | undefined>(undefined)
  readonly reading = signal<FileReading | undefined>(undefined)
  readonly problem = signal<FileProblem | undefined>(undefined)
  readonly #lines = new Map<number, (text: string) => void>()
  #worker: Worker | undefined
  #onRewritten: (body: UploadBody) => void = () => undefined

  constructor(file: File, isSample = false) {
    this.file = file
    this.isSample = isSample
    this.read()
  }

  /** Reads the file again, after the user has changed the dialect. */
  read(dialect?: CsvDialect): void {
    this.drop()
    this.problem.value = undefined
    this.#worker = new Worker(assetAddress(workerName), { type: 'module', name: 'file' })
    this.#worker.onmessage = ({ data }: MessageEvent<FromFileWorker>) => this.#take(data)
    this.#send({ kind: 'read', file: this.file, dialect })
  }

  /** A line of the file, counted as by COPY. */
  line(line: number): Promise<string> {
    return new Promise((resolve) => {
      this.#lines.set(line, resolve)
      this.#send({ kind: 'line', line })
    })
  }

  /** What to send for a plan. */
  bodyFor(plan: ImportPlan): Promise<UploadBody> {
    const { body, isGzip } = this.head.value!
    if (!isRewritten(plan)) return Promise.resolve({ body, isGzip })
    return new Promise((resolve) => {
      this.#onRewritten = resolve
      this.#send({ kind: 'rewrite', plan })
    })
  }

  drop(): void {
    this.#worker?.terminate()
  }

  #send(message: ToFileWorker): void {
    this.#worker?.postMessage(message)
  }

  #take(message: FromFileWorker): void {
    if (message.kind === 'line') this.#lines.get(message.line)?.(message.text)
    else if (message.kind === 'rewritten') this.#onRewritten(message.body)
    else if (message.kind === 'problem') this.problem.value = message.problem
    else {
      if (message.kind === 'head') this.head.value = message.head
      this.reading.value = message.reading
    }
  }
}
