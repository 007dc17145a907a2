// Package reading is what the readers of all formats share: the lines of a
// file and what is wrong with them, time stamps, and sharing out token counts.
package reading
