// Package compactsim is the root of a simulator for the way coding agents
// manage their context. The command is in cmd/sim; docs/architecture.md shows
// the way through the packages.
package compactsim
