/** An RCS agent's id as it is kept: the network writes it with and without `@rbm.goog`. */
export const bareAgentId = (id: string): string => id.replace(/@rbm\.goog$/, '');
