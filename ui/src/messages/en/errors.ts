import { messages } from '../define';

/** Titles by error code; the engine's own sentence stands below. */
export const errors = messages({
  copy_details: 'Copy details',
  NETWORK: 'The server does not answer',
  NOT_FOUND: 'It is not there',
  UNAUTHORIZED: 'Not logged in',
  FORBIDDEN: 'Not allowed',
  CONFLICT: 'Its state does not allow that',
  PRECONDITION_FAILED: 'It was changed in the meantime',
  INTERNAL: 'The server failed',
  UNAVAILABLE: 'The server is not ready',
  UI_ERROR: 'The page failed',
});
