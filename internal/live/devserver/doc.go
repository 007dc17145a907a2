// Package devserver is a server that speaks the Messages API and chat
// completions over real HTTP, for tests of what calls models and for trying it
// out without a key and without cost. It has no model: what it answers is made
// of what it was asked, always in the same way.
//
//	POST /v1/messages          streamed or not
//	POST /v1/chat/completions  streamed or not
//	GET  /debug/counts         what was asked how often (Counts)
//
// Requests are checked as the API checks them. Usage comes from an estimate of
// tokens and from a prompt cache that was written from the provider's
// documentation alone: predictions of sim/promptcache are held against it, so
// the two share nothing. Faults happen on demand (Fault).
//
// A key has the form dev…; the part between the first two hyphens of
// dev-ACME-… names an organisation, whose requests share a cache.
package devserver
