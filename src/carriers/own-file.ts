/** Our file in a message: networks that take uploads get it from us, and need not fetch it by its link. */
export type OwnFile = {
  /** Identifies the file among all. */
  readonly key: string;
  readonly mimeType: string;
  readonly name: string;
  /** Reads the whole file; rejects if it is gone. */
  read(): Promise<Uint8Array>;
  /** Finds the network's id of a copy for this sender that was saved before and has not expired. */
  findCopy(sender: string): Promise<string | null>;
  /** Saves the network's id of a copy, for all processes. */
  saveCopy(copy: FileCopy & { readonly days: number }): Promise<void>;
  /** Deletes a copy that the network did not accept. */
  forgetCopy(copy: FileCopy): Promise<void>;
};

type FileCopy = { readonly sender: string; readonly networkId: string };
