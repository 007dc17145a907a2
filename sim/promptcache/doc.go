// Package promptcache models the prompt caches of model providers on the
// server's side: what a request reads, what it writes, what it missed and why.
// It knows nothing of clients, strategies or prices.
//
// Anthropic is the documented cache of platform.claude.com (prompt caching):
//
//   - An entry is written at each marker of a request and nowhere else. Its key
//     is the hash of the prefix ending there, the model, and who may read it.
//   - A lookup starts at the last marker and walks back block by block, 20
//     positions with the marker as the first; without a find it starts again
//     from the marker in front.
//   - An entry is readable from the moment its writer's response begins and
//     lives for its TTL after the last request that used it.
//   - Prefixes below the model's minimum are neither read nor written.
//   - With A the end of the hit, B the last 1h marker behind it and C the last
//     marker, A is read, A to B is written for 1h, B to C for 5m, and the rest
//     is plain input.
//
// OpenAI is the automatic cache of platform.openai.com: every prefix that was
// sent, without markers or a price for writing.
//
// What no document says is decided by a field of Config or OpenAIConfig, which names the
// default and why. Three points have no switch:
//
//   - A marker in front of the hit writes nothing: what is not billed is not
//     written.
//   - The prefix of an entry is what its writer read and wrote in front of it.
//     An entry that comes later at a position in front of a longer one is not
//     on the longer one's path, and reading the longer one does not refresh it.
//   - Requests in flight keep what they have read or written from the eviction
//     that Config.Capacity brings about: the whole prefix, also when its end is
//     lost otherwise.
//
// Times are int64 nanoseconds and must not run backwards from call to call.
// No method is safe for concurrent use; Clone makes independent copies.
package promptcache
