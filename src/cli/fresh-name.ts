import { randomBytes } from 'node:crypto'

/** For a file that is being written: in the same folder, so that renaming it is one step, and not to be foreseen. */
export const freshName = (file: string) => `${file}.${randomBytes(6).toString('hex')}.part`
