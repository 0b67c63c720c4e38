/** A login as it stands in its row. */
export interface StoredLogin {
  /** Sealed. */
  credentials: string;
  refreshNeeded: boolean;
}
/** Renewed credentials, sealed, and when a person has to log in again. */
export interface RenewedLogin {
  credentials: string;
  tokenExpiresAt: Date | null;
}

/** The row that keeps a login: a channel, or the login of somebody who has still to choose a page. */
export interface LoginRow {
  /** Undefined: the row is gone. */
  find(): Promise<StoredLogin | undefined>;
  /** Claims the renewal of the login in `seen`; false: it is another one by now, or another process renews it. */
  claim(seen: string, claim: string, holdMs: number): Promise<boolean>;
  /** Writes a renewed login in place of `seen`; false: a person logged in meanwhile. */
  save(seen: string, fresh: RenewedLogin): Promise<boolean>;
  release(claim: string): Promise<unknown>;
  /** Ends the login in `seen` until a person logs in again; false: it is another one by now. */
  lose(reason: string, seen: string): Promise<boolean>;
}
