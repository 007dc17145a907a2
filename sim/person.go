package sim

import (
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Person is who has a session, in what the persons of one cohort differ.
type Person struct {
	// Owner is the organisation, from 1: it reads what its own members have
	// written, and what is marked for everyone.
	Owner uint32
	// User is the index of the user, from 0 without large gaps: the sessions of
	// one share memory files and the lock of the consolidation.
	User int32
	// Client assembles the session's requests; nil: that of the cell.
	Client Client
	// Assembly says how; nil: as that of the cell.
	Assembly *Assembly
}

// person returns who has the session at a place in its cohort: without a word of
// the configuration one user of one organisation has them all.
func (c *Config) person(index int, s *traces.Session) Person {
	switch {
	case c.Person != nil:
		return c.Person(index, s)
	case c.Owner != nil:
		return Person{Owner: c.Owner(index, s)}
	}
	return Person{Owner: 1}
}

// user is what the sessions of one user share beside the cache.
type user struct{ strategies.User }

// reset makes u a user without a past and without sessions.
func (u *user) reset() { u.User = strategies.User{Ends: u.Ends[:0], Live: u.Live[:0]} }

// seat gives a session of the user its place among them.
func (u *user) seat() int32 {
	u.Ends, u.Live = append(u.Ends, 0), append(u.Live, false)
	return int32(len(u.Ends) - 1)
}

// usersThrough makes room for the user with an index, with all of them at hand
// without a past.
func (l *Loop) usersThrough(index int32) {
	for int(index) >= len(l.users) {
		if len(l.users) < cap(l.users) {
			l.users = l.users[:len(l.users)+1] // what is stored is used again
		} else {
			l.users = append(l.users, user{})
		}
		l.users[len(l.users)-1].reset()
	}
}
