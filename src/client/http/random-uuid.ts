import { randomId } from './random-id.ts'

/** 128 random bits in the form of a UUID, as `crypto.randomUUID` is missing on pages that came by plain HTTP. */
export const randomUuid = () => randomId().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
