//! Canonical JSON of compound values: arrays and objects, written part by part.

use std::fmt::Write as _;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer as _,
};

use super::write::{Formless, Key, WriteResult};
use super::{Text, canonical};

/// An open array.
pub(super) struct List<'t> {
    pub(super) text: &'t mut Text,
    pub(super) first: bool,
    /// Whether it is the content of an enum variant.
    pub(super) within: bool,
}

impl List<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        if !std::mem::take(&mut self.first) {
            self.text.out.push(b',');
        }
        value.serialize(&mut *self.text)
    }

    fn over(self) -> WriteResult {
        self.text.out.push(b']');
        if self.within { self.text.end_variant() } else { Ok(()) }
    }
}

/// An open object.
pub(super) struct Object<'t> {
    pub(super) text: &'t mut Text,
    pub(super) kind: CompoundKind,
}

/// How a serde struct is written.
#[derive(Clone, Copy)]
pub(super) enum CompoundKind {
    Plain,
    /// The content of an enum variant.
    Variant,
    /// Text that is JSON already.
    Raw,
    /// A number, as its digits.
    Number,
}

impl Object<'_> {
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> WriteResult {
        match self.kind {
            CompoundKind::Plain | CompoundKind::Variant => self.text.property(key, value),
            CompoundKind::Raw => {
                let value: serde_json::Value =
                    serde_json::from_str(&told(value)?).map_err(|_| Formless)?;
                self.text.put(&canonical(&value))
            }
            CompoundKind::Number => {
                let number: f64 = told(value)?.parse().map_err(|_| Formless)?;
                self.text.number(number)
            }
        }
    }

    fn over(self) -> WriteResult {
        match self.kind {
            CompoundKind::Plain => self.text.end_object(),
            CompoundKind::Variant => {
                self.text.end_object();
                return self.text.end_variant();
            }
            CompoundKind::Raw | CompoundKind::Number => {}
        }
        Ok(())
    }
}

/// The text of a scalar value.
fn told<T: Serialize + ?Sized>(value: &T) -> Result<String, Formless> {
    let mut text = String::new();
    write!(text, "{}", Key(value)).map_err(|_| Formless)?;
    Ok(text)
}

impl SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Formless;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> WriteResult {
        self.text.begin_key();
        self.text.collect_str(&Key(key))?;
        self.text.end_key();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        value.serialize(&mut *self.text)?;
        self.text.end_value();
        Ok(())
    }

    fn end(self) -> WriteResult {
        self.over()
    }
}

macro_rules! lists {
    ($($kind:ident: $element:ident),*) => {
        $(impl $kind for List<'_> {
            type Ok = ();
            type Error = Formless;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
                self.element(value)
            }

            fn end(self) -> WriteResult {
                self.over()
            }
        })*
    };
}

lists!(
    SerializeSeq: serialize_element, SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field, SerializeTupleVariant: serialize_field
);

macro_rules! objects {
    ($($kind:ident),*) => {
        $(impl $kind for Object<'_> {
            type Ok = ();
            type Error = Formless;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> WriteResult {
                self.field(key, value)
            }

            fn end(self) -> WriteResult {
                self.over()
            }
        })*
    };
}

objects!(SerializeStruct, SerializeStructVariant);
