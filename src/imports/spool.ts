import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../postgres/cluster/processes.ts'

/**
 * The directory for files of imports. Processes on several machines may share one: it has an id, and each import knows
 * the id of the directory that has its file. Every import has a folder of its own.
 */
export class Spool {
  readonly root: string
  readonly id: string

  private constructor(root: string, id: string) {
    this.root = root
    this.id = id
  }

  static async open(root: string): Promise<Spool> {
    await mkdir(root, { recursive: true, mode: 0o700 })
    const file = join(root, '.id')
    // The first of several processes wins.
    await writeFile(file, randomUUID(), { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    return new Spool(root, (await readFile(file, 'utf8')).trim())
  }

  /** A folder for an upload that is no import yet. Its name tells whose it is. */
  async newUpload(): Promise<string> {
    const folder = join(this.root, `${uploadPrefix}${machine}-${process.pid}-${randomUUID()}`)
    await mkdir(folder, { mode: 0o700 })
    return folder
  }

  /**
   * The upload is whole: it becomes the folder of its import. Its time starts anew, so that no sweep takes it for
   * abandoned before the import is committed.
   */
  async keep(upload: string, importId: string): Promise<void> {
    const now = new Date()
    await utimes(upload, now, now)
    await rename(upload, this.folderOf(importId))
  }

  /** A folder for an upload that comes in several requests, to any process, with an empty file. */
  async newResumable(uploadId: string): Promise<string> {
    const folder = this.resumableOf(uploadId)
    await mkdir(folder, { mode: 0o700 })
    await writeFile(join(folder, uploadedFile), '', { flag: 'wx', mode: 0o600 })
    return folder
  }

  resumableOf(uploadId: string): string {
    return join(this.root, `${resumablePrefix}${uploadId}`)
  }

  /** Its import was not made: a folder that was renamed for it gets its name back. */
  async takeBack(uploadId: string): Promise<void> {
    await rename(this.folderOf(uploadId), this.resumableOf(uploadId)).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
      },
    )
  }

  folderOf(importId: string): string {
    return join(this.root, importId)
  }

  /** The file as it was sent. */
  fileOf(importId: string): string {
    return join(this.folderOf(importId), uploadedFile)
  }

  has(importId: string): Promise<boolean> {
    return stat(this.fileOf(importId)).then(
      () => true,
      () => false,
    )
  }

  async remove(importId: string): Promise<void> {
    await removeFolder(this.folderOf(importId))
  }

  /** Removes folders of ended imports, of uploads whose process is gone, and of resumable uploads that are over. */
  async sweep(unfinished: StillNeeded, resumable: StillNeeded): Promise<void> {
    const names = await readdir(this.root)
    const uploads = names.filter((name) => name.startsWith(uploadPrefix))
    for (const name of uploads) if (await this.#isAbandoned(name)) await removeFolder(join(this.root, name))
    await this.#sweepSettled('', names, unfinished)
    await this.#sweepSettled(resumablePrefix, names, resumable)
  }

  /** A folder is there before its import or upload is committed. */
  async #sweepSettled(prefix: string, names: readonly string[], needed: StillNeeded): Promise<void> {
    const settled = []
    for (const name of names) {
      const id = name.slice(prefix.length)
      if (name.startsWith(prefix) && uuid.test(id) && (await this.#isOlderThan(name, settleMs)))
        settled.push(id)
    }
    if (settled.length === 0) return
    const kept = await needed(settled)
    for (const id of settled) if (!kept.has(id)) await removeFolder(join(this.root, `${prefix}${id}`))
  }

  async #isAbandoned(name: string): Promise<boolean> {
    const [, owner, pid] = uploadName.exec(name) ?? []
    if (owner !== machine) return this.#isOlderThan(name, foreignMs)
    if (Number(pid) === process.pid) return this.#isOlderThan(name, foreignMs)
    return !isAlive(Number(pid))
  }

  async #isOlderThan(name: string, ageMs: number): Promise<boolean> {
    const found = await stat(join(this.root, name)).catch(() => undefined)
    return found !== undefined && isOlder(found.mtime, ageMs)
  }
}

/** By the clock of the machine: a file has no other. */
export const isOlder = (since: Date, ageMs: number) => Date.now() - since.getTime() > ageMs

export const uploadedFile = 'upload'

export const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 3 })

/** Which of the ids are. */
type StillNeeded = (ids: readonly string[]) => Promise<ReadonlySet<string>>

const uploadPrefix = 'up-'
const resumablePrefix = 'tus-'
const machine = hostname().replace(/[^a-zA-Z0-9]/g, '_')
const uploadName = /^up-([^-]+)-(\d+)-/
const uuid = /^[0-9a-f]{8}-[0-9a-f-]{27}$/
const settleMs = 60_000
/** An upload to another machine's process: no upload takes so long. */
const foreignMs = 86_400_000
