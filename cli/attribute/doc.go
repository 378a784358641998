// Package attribute shows the attributes of management datagrams by the names
// of their fields, and makes the records that select by fields. It goes by the
// types and layouts of package mad, and so knows each attribute that is there.
package attribute
