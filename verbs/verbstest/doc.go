// Package verbstest is the conformance suite of package verbs. Each provider
// runs it in its own tests, on two contexts that reach each other:
//
//	func TestConformance(t *testing.T) {
//		verbstest.Run(t, verbstest.Suite{Open: func(tb testing.TB) (near, far verbs.Context) {
//			...
//		}})
//	}
//
// # What it tests
//
// The rules of package verbs, of the InfiniBand specification where that package
// refers to it, and the cases V1 to V12. Each test says in one line which rule it
// checks and where that is from; it is printed when the test fails.
//
// A device is held to what its Caps say. An operation or a feature that they do
// not have must be refused with verbs.ErrNotSupported, which is tested in place
// of what it would do. An order that they do not promise is not tested. Where a
// device is known not to follow a rule, a [Deviation] says so with the reason: it
// is printed, and is a failure once the device follows the rule.
//
// # Two processes
//
// A test writes to verbs.Context only, so that its far end may be in another
// process: there [Serve] runs a context for whoever is at the other end of a
// connection, and [Dial] makes a context of that connection.
//
// # Who tests the suite
//
// Its own tests run it on devices that are broken in one way each, and name the
// test that has to find that.
package verbstest
