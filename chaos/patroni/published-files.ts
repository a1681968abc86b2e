import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'

/** Chaos runs the files that operators copy from deploy/patroni, with other addresses and folders. */
export const readPublished = (name: string) =>
  readFile(new URL(`../../deploy/patroni/${name}`, import.meta.url), 'utf8')

export const readSettings = async <Settings>(name: string) => parse(await readPublished(name)) as Settings
