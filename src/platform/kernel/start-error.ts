/** Why a start ends that a person can do something about: printed without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
