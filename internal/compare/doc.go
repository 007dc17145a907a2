// Package compare holds runs, or cells of one run, against each other session by
// session.
//
// Two statements are kept apart. What the sides did on the sessions they share is
// known: values and differences are those figures, without any test. What
// another set of sessions of this kind would show is not: intervals, p-values
// and verdicts speak of that, with the session as the unit that was drawn.
package compare
