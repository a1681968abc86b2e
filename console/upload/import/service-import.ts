import { computed, signal } from '@preact/signals'
import { type ImportOptions, importsOf } from '../../../src/client/api/imports-api.ts'
import type { ImportDocument } from '../../../src/contract/documents.ts'
import { mergedText } from '../../../src/contract/text/merged-rows.ts'
import { noteCatalogChange } from '../../api/catalog.ts'
import { ownConnection, request, requestJson } from '../../api/request.ts'
import { tell } from '../../parts/live.tsx'

/** A file that the service imports: it is sent completely, then a worker creates its tables. */
export class ServiceImport {
  readonly file: File
  readonly step = signal<'send' | 'load' | 'done' | 'failed' | 'cancelled'>('send')
  readonly sentBytes = signal(0)
  /** The bytes that the service had when the connection was cut; the upload continues. */
  readonly cutAt = signal<number | undefined>(undefined)
  readonly document = signal<ImportDocument | undefined>(undefined)
  /** Why the import could not be created. A failed import has the reason in its document. */
  readonly error = signal<unknown>(undefined)
  readonly isOver = computed(() => !['send', 'load'].includes(this.step.value))
  /** Settles when the import has ended in any way. */
  readonly ended: Promise<void>
  readonly #options: ImportOptions
  readonly #cancelled = new AbortController()
  #id: string | undefined

  constructor(file: File, options: ImportOptions) {
    this.file = file
    this.#options = options
    this.ended = this.#run()
  }

  /** Undefined: the rows were not merged by a key. */
  get mergedText(): string | undefined {
    const { value } = this.document
    return value && mergedText(value.progress.rows, value, this.#options.on_conflict)
  }

  cancel(): void {
    if (!this.isOver.value) this.#cancelled.abort()
  }

  async #run(): Promise<void> {
    try {
      await this.#send()
      await this.#follow()
    } catch (error) {
      this.error.value = error
      this.step.value = this.#cancelled.signal.aborted && !this.#id ? 'cancelled' : 'failed'
    }
    noteCatalogChange()
  }

  async #send(): Promise<void> {
    // Checks the key first: at a 401, XMLHttpRequest would make the browser show its own password dialog.
    const { signal } = this.#cancelled
    await request('whoAmI', { signal })
    const { connection, name } = ownConnection('createImport')
    const { item_queue_id } = await importsOf(connection, name).create(
      { file: this.file, filename: this.file.name },
      this.#options,
      {
        signal,
        onProgress: ({ bytes }) => {
          this.sentBytes.value = bytes
          if (this.cutAt.value !== undefined && bytes > this.cutAt.value) this.cutAt.value = undefined
        },
        onCut: ({ bytes }) => {
          this.sentBytes.value = bytes
          this.cutAt.value = bytes
        },
      },
    )
    this.#id = item_queue_id
  }

  async #follow(): Promise<void> {
    this.step.value = 'load'
    // An import that ends before the cancel is not cancelled, which the next read shows.
    const cancel = () => void this.#ask('cancelImport').catch(() => undefined)
    const { signal } = this.#cancelled
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    for (;;) {
      const found = await this.#ask('readImport', { wait: 1 })
      this.document.value = found
      if (found.success === undefined) continue
      this.step.value = found.success ? 'done' : found.error_code === cancelled ? 'cancelled' : 'failed'
      if (found.success && !this.#options.preview) tell('The import is complete')
      return
    }
  }

  #ask(operation: 'readImport' | 'cancelImport', query = {}): Promise<ImportDocument> {
    return requestJson<ImportDocument>(operation, { parameters: { importId: this.#id! }, query })
  }
}

/** `error_code` of a cancelled import. */
const cancelled = 6672
