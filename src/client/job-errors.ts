import type { ImportDocument, JobDocument } from '../contract/documents.ts'
import { CartageError, type ClientErrorCode } from './cartage-error.ts'

/** A job that did not end as `done`: it failed, was cancelled or is unknown. */
export class JobError extends CartageError {
  readonly job: JobDocument

  constructor(job: JobDocument) {
    const { status, failed_reason: reason, failed_sqlstate: sqlstate } = job
    super(`The job ${job.job_id} is ${status}${reason ? `: ${reason}` : ''}`, {
      body: { code: `job-${status}` satisfies ClientErrorCode, sqlstate },
    })
    this.name = 'JobError'
    this.job = job
  }
}

/** A job was accepted, and the service has not answered since: the job goes on by itself, so do not send it again. */
export class JobNotFollowedError extends CartageError {
  readonly jobId: string

  constructor(jobId: string, cause: unknown) {
    super(`The service does not answer. The job ${jobId} was accepted and goes on by itself`, {
      body: { code: 'job-not-followed' satisfies ClientErrorCode },
      cause,
    })
    this.name = 'JobNotFollowedError'
    this.jobId = jobId
  }
}

/** An import that did not end as `complete`. */
export class ImportError extends CartageError {
  readonly import: ImportDocument

  constructor(failed: ImportDocument) {
    const { error_code: code, get_error_text: text } = failed
    super(`The import ${failed.id} failed with ${code}${text ? `: ${text.what_about}` : ''}`, {
      body: { code: 'import-failed' satisfies ClientErrorCode },
    })
    this.name = 'ImportError'
    this.import = failed
  }
}
